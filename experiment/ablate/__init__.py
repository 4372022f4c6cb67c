"""The tables of the papers, measured again; a table is a record, one engine measures them all."""
