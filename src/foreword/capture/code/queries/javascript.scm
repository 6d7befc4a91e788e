(field_definition value: [(arrow_function) (function_expression)]) @function
(class_heritage [(identifier) @reference (member_expression property: (property_identifier) @reference)])
