"""Which launches do the recipe files of a repository describe, in the shapes in which public repositories keep them?"""
