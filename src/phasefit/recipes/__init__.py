"""Recipes: TOML files that list phases in order, with the settings of a paper or our own.

To add a recipe, add a file to the folder `library/`. Other packages add to `RECIPES`. The first comment line of a file
is its title; the header names the paper and the command.

May import phases and what phases may import; reading a recipe imports no torch.
"""

from phasefit.recipes.reading import parse_recipe, read_recipe
from phasefit.recipes.recipe import Recipe
from phasefit.recipes.recipe_files import RECIPES, RecipeInfo, list_recipes, recipe_text

__all__ = ["RECIPES", "Recipe", "RecipeInfo", "list_recipes", "parse_recipe", "read_recipe", "recipe_text"]
