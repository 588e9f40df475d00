"""Which questions are asked of every answer?"""
