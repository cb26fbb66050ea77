"""Facts about hooks and settings for doctor, check, list, prove and the page; nothing here prints."""
