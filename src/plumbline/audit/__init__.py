"""What is the verdict of one run?"""
