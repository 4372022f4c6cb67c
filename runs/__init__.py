"""A script for each page of the documentation that makes its tables; run folders are here, too."""
