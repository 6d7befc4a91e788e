(public_field_definition value: [(arrow_function) (function_expression)]) @function
[(abstract_class_declaration) (interface_declaration) (type_alias_declaration) (enum_declaration)] @class
[(internal_module) (module)] @scope
(extends_clause value: (identifier) @reference)
(extends_clause value: (member_expression property: (property_identifier) @reference))
(implements_clause [
    (type_identifier) @reference
    (nested_type_identifier name: (type_identifier) @reference)
    (generic_type name: (type_identifier) @reference)
    (generic_type name: (nested_type_identifier name: (type_identifier) @reference))
])
(extends_type_clause [
    (type_identifier) @reference
    (nested_type_identifier name: (type_identifier) @reference)
    (generic_type name: (type_identifier) @reference)
    (generic_type name: (nested_type_identifier name: (type_identifier) @reference))
])
