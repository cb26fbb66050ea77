"""A company's policy on its way: packed from a directory, published in a bucket, followed by every machine."""
