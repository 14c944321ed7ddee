"""The basis of every other package: errors, text, files, forms of JSON and CSV, tables and output."""
