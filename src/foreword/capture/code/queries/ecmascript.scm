[(function_declaration) (generator_function_declaration) (method_definition)] @function
(variable_declarator value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression right: [(arrow_function) (function_expression) (generator_function)]) @function
(pair value: [(arrow_function) (function_expression) (generator_function)]) @value
(variable_declarator value: (object)) @scope
[(class_declaration) (variable_declarator value: (class))] @class
(export_statement value: (class) @class)
(export_statement value: [(arrow_function) (function_expression) (generator_function)] @function)
(call_expression function: (identifier) @reference)
(call_expression function: (member_expression property: (property_identifier) @reference))
(new_expression constructor: (identifier) @reference)
(new_expression constructor: (member_expression property: (property_identifier) @reference))
(import_statement) @import
(import_statement source: (string (string_fragment) @reference))
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(namespace_import (identifier) @reference)
