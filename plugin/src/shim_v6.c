/* ABI version 6. */
#include "core.h"

#define V 6
#include "shim_template.h"
