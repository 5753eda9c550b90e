"""From results to a page: what is said about each model, its figures, and the Markdown, HTML and JSON that show it."""
