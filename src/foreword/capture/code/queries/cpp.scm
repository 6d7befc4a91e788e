(class_specifier body: (field_declaration_list)) @class
(namespace_definition) @scope
(call_expression function: (qualified_identifier name: (identifier) @reference))
(call_expression function: (template_function name: (identifier) @reference))
(new_expression type: (type_identifier) @reference)
(base_class_clause (type_identifier) @reference)
(base_class_clause (qualified_identifier name: (type_identifier) @reference))
(base_class_clause (template_type name: (type_identifier) @reference))
(using_declaration) @import
