// Converts OpenVINO's exceptions to ours. Their texts have several lines, with the places in OpenVINO's source that
// threw them.
#pragma once

#include <exception>
#include <openvino/core/except.hpp>
#include <string>

#include "base/error.h"

namespace evener::engine::openvino_engine {

/// The lines of the text that tell a user something, as one line.
std::string plain_text(const std::string& message);

/// Calls `body`; an exception of OpenVINO becomes Error, whose message begins with `what`.
template <class Body>
auto with_errors(const std::string& what, const Body& body) {
  try {
    return body();
  } catch (const ov::Exception& error) {
    throw Error(what + ": " + plain_text(error.what()));
  } catch (const std::bad_alloc&) {
    throw Error(what + ": out of memory");
  }
}

}  // namespace evener::engine::openvino_engine
