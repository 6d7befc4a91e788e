[(method_declaration) (function_definition)] @function
[(class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)] @class
(namespace_definition body: (compound_statement)) @scope
(function_call_expression function: [(name) @reference (qualified_name (name) @reference)])
(member_call_expression name: (name) @reference)
(nullsafe_member_call_expression name: (name) @reference)
(scoped_call_expression name: (name) @reference)
(scoped_call_expression scope: (name) @reference)
(object_creation_expression [(name) @reference (qualified_name (name) @reference)])
(base_clause (name) @reference)
(class_interface_clause (name) @reference)
(use_declaration (name) @reference)
[(php_tag) (namespace_definition !body) (namespace_use_declaration)] @import
(namespace_definition !body) @rest
(namespace_use_clause [(qualified_name) (name)] @reference)
