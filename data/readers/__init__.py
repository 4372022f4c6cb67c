"""One module per format: each reads a user's file and reports errors by file and line.

The files of the CS224N default project (sst, quora, sts) are tab-separated although named .csv, and
quoted by csv's default rules: the course's own starter code reads them with
`csv.DictReader(file, delimiter="\\t")`, so these readers do the same.
"""
