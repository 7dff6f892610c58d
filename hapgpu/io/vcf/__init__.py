"""VCF and BCF: header, lines, records, writer."""
