"""Contact: where a robot can touch, what it touches, and the parameters of the two laws."""
