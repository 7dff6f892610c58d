"""Files of read and haplotype groups (`10s.in`) in, tables out."""
