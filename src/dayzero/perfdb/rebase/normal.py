"""Write Python code down so that the same code is the same text: without comments, layout, docstrings and other platforms."""

import ast
from collections.abc import Sequence
from typing import Final

# Conditions that are false where rows are measured, on NVIDIA GPUs. Source: vllm 0.27.0, vllm/platforms/interface.py, Platform.
_ELSEWHERE: Final = frozenset({"is_rocm", "is_xpu", "is_cpu", "is_tpu", "is_zen_cpu", "is_out_of_tree"})
_PLATFORM: Final = "current_platform"


def normal(statement: ast.stmt) -> str:
    """Write one statement as text that depends on nothing but what it computes on NVIDIA GPUs."""
    copied = ast.parse(ast.unparse(statement))
    return ast.dump(_Normal().visit(copied), annotate_fields=False)


def here(statement: ast.stmt) -> ast.AST:
    """Give a copy of a statement without what runs on other platforms only."""
    return _Normal().visit(ast.parse(ast.unparse(statement)))  # type: ignore[no-any-return]


class _Normal(ast.NodeTransformer):
    """Takes docstrings out, and the branches of platforms that are elsewhere."""

    def visit_If(self, node: ast.If) -> ast.AST | Sequence[ast.AST]:
        """Leave the branch that cannot be taken out."""
        self.generic_visit(node)
        if _elsewhere(node.test):
            return node.orelse
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """Leave the value that cannot be taken out."""
        self.generic_visit(node)
        return node.orelse if _elsewhere(node.test) else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave its docstring out."""
        return self._undocumented(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Leave its docstring out."""
        return self._undocumented(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Leave its docstring out."""
        return self._undocumented(node)

    def _undocumented(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.AST:
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                node.body = rest or [ast.Pass()]
            case _:
                pass
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


def _elsewhere(test: ast.expr) -> bool:
    match test:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=question), args=[]) if owner == _PLATFORM:
            return question in _ELSEWHERE
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_elsewhere(value) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return all(_elsewhere(value) for value in values)
        case _:
            return False
