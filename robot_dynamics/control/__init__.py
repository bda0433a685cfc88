"""What the nodes decide, without ROS: guards, gaits, feed-forward torques, monitors."""
