"""What others have added to the paper since 2021, where our models can test it: the framework in
features, why a head looks where it looks, composition in few directions, credit by path, and edges
that matter only together.
"""
