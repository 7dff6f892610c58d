"""VCF and BCF: header, blocks of lines, records in columns, writer, tabix index."""
