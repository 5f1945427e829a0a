// The Open Inference Protocol (KServe v2) over REST, with its binary tensor extension: requests to plain values and
// outputs to answers. Pure: no network, no model. Requests are foreign and untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"

namespace evener::job {

/// A request that can't be answered, with what is wrong with it.
class BadRequest : public Error {
 public:
  using Error::Error;
};

/// A tensor as it was sent: its values stand in one of the three.
struct SentTensor {
  std::string name, datatype;       // "UINT8", "FP32", "BYTES", ...
  std::vector<std::int64_t> shape;  // of extents from 0
  std::vector<float> numbers;       // JSON's, rounded to float
  std::vector<std::string> texts;   // JSON's
  std::optional<std::string_view> binary;

  /// Product of the extents.
  std::size_t elements() const;
};

struct WantedOutput {
  std::string name;
  bool binary = false;
  std::size_t classes = 0;  // the best so many instead of all values; 0 = all values
};

/// Views in it point to the body that it was parsed from.
struct InferRequest {
  std::string id;
  std::vector<SentTensor> inputs;
  std::vector<WantedOutput> outputs;  // empty = all
  bool binary_outputs = false;        // of those whose own wish isn't known
};

/// Parses the body of a request. `json_bytes`: of the JSON that binary tensors follow, as the header
/// Inference-Header-Content-Length says; absent = all of it. Shapes and sizes fit together in what is returned: a
/// tensor has as many values as its shape says, but for binary BYTES, which elements_of_bytes() takes apart. Throws
/// BadRequest.
InferRequest parse_infer_request(std::string_view body, std::optional<std::size_t> json_bytes);

/// The number in a header such as Inference-Header-Content-Length; absent where there is none. Throws BadRequest.
std::optional<std::size_t> parse_length(const std::string& header);

/// The elements of a tensor of BYTES: each a length of four bytes, low byte first, and so many bytes; or JSON texts,
/// which are base64. Throws BadRequest.
std::vector<std::string> elements_of_bytes(const SentTensor& tensor);

/// An output as it is told.
struct ToldOutput {
  WantedOutput wanted;
  const HostTensor* values = nullptr;  // floats, whose first extent counts the samples
};

struct InferAnswer {
  std::string body;
  std::optional<std::size_t> json_bytes;  // for the header, where binary tensors follow
};

/// `classes`: names, where those are known. Numbers that JSON can't write (NaN, infinite) are told as null.
InferAnswer write_infer_answer(const std::string& model, const std::string& id, const std::vector<ToldOutput>& outputs,
                               const std::vector<std::string>& classes);

}  // namespace evener::job
