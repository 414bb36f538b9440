"""The one-page report of a study: a page model of the search goes in, one HTML file comes out."""
