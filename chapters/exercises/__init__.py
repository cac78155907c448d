"""What checks the exercises, a module for each chapter: beside the chapters, so that a cell shows a question."""
