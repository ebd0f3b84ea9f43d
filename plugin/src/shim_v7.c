/* ABI version 7. */
#include "core.h"

#define V 7
#include "shim_template.h"
