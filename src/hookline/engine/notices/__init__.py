"""Messages about hooks: advice for their authors, failures, missing trust."""
