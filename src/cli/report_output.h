// What the commands of reports print.
#pragma once

#include <cstddef>
#include <string>

#include "report/html.h"

namespace evener::cli {

/// The width that tables may have: that of the terminal, or 200 where the output goes elsewhere.
std::size_t table_width();

/// Writes to stdout, before what stderr says next.
void put(const std::string& text);

/// Tells where the page is, and why it has no plots.
void put_written(const report::WrittenPage& page);

}  // namespace evener::cli
