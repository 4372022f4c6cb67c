"""What a student writes that the project itself takes from a library, or does in larger pieces.

Hand-written references, tested against those libraries; the product does not use them.
"""
