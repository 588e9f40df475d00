"""What did the target say, and is it what was sealed?"""
