"""What commands that test or build have shown."""
