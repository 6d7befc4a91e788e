[(method_declaration) (constructor_declaration) (compact_constructor_declaration)] @function
[(class_declaration) (interface_declaration) (enum_declaration) (record_declaration)] @class
(annotation_type_declaration) @class
(method_invocation name: (identifier) @reference)
(object_creation_expression type: (type_identifier) @reference)
(object_creation_expression type: (generic_type (type_identifier) @reference))
[(marker_annotation name: (identifier) @reference) (annotation name: (identifier) @reference)]
(superclass [(type_identifier) @reference (generic_type (type_identifier) @reference)])
(type_list [(type_identifier) @reference (generic_type (type_identifier) @reference)])
[(package_declaration) (import_declaration)] @import
(import_declaration (scoped_identifier) @reference)
