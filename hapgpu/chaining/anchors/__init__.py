"""Seeds to sorted anchors; anchors from files, checked."""
