"""Final CIGARs: gaps moved left and merged; counts of bases and the best score of a part."""
