/* ABI version 5. */
#include "core.h"

#define V 5
#include "shim_template.h"
