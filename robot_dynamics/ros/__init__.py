"""The only room that imports rclpy: parameters, conversion of messages, start-up, and one file per node."""
