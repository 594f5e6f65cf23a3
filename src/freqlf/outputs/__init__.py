"""What is made of an estimate: the result folder, depth, points, refocused views, pages to look at."""
