"""What killed this start, where does the log say so, and what resolves it?"""
