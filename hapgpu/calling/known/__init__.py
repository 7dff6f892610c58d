"""Known variants: IDs and flags of records that a file has, too."""
