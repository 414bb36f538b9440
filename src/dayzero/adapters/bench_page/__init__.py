"""The one-page report of a run: a page model of the bench goes in, one HTML file comes out."""
