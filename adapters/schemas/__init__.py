"""JSON Schemas of the documents, made from the values that they are read into and written from."""
