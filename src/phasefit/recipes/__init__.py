"""Recipes: phases in order, as TOML files that read like the papers they come from.

The library is the folder `library/`: a new recipe is a new file there, nothing else. Other packages add to `RECIPES`.
The first comment line of a file is its title; the header says the paper and the command.

May import phases and what phases may import; reading a recipe imports no torch.
"""

from phasefit.recipes.reading import parse_recipe, read_recipe
from phasefit.recipes.recipe import Recipe
from phasefit.recipes.recipe_files import RECIPES, RecipeInfo, list_recipes, recipe_text

__all__ = ["RECIPES", "Recipe", "RecipeInfo", "list_recipes", "parse_recipe", "read_recipe", "recipe_text"]
