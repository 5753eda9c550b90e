"""DriveHierarchy's question-answer data for ranks R1-R3: the item schema, its editions, and how they are made."""
