// The Open Inference Protocol (KServe v2) over REST, with its binary tensor extension: parses requests,
// converts them to samples of the network that is served, and writes responses. Pure functions without the network
// itself. Requests are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "data/preprocess.h"
#include "detect/detector.h"
#include "infer/run/infer.h"

namespace evener::serving {

/// A request that can't be answered, with what is wrong with it.
class BadRequest : public Error {
 public:
  using Error::Error;
};

/// A tensor of a request. Its values are in `numbers`, `texts` or `binary`.
struct SentTensor {
  std::string name, datatype;       // "UINT8", "FP32", "BYTES", ...
  std::vector<std::int64_t> shape;  // of extents from 0
  std::vector<float> numbers;       // from JSON, rounded to float
  std::vector<std::string> texts;   // JSON's
  std::optional<std::string_view> binary;

  /// Product of the extents.
  std::size_t elements() const { return static_cast<std::size_t>(element_count(shape)); }
};

struct WantedOutput {
  std::string name;
  bool binary = false;
  std::size_t classes = 0;  // return so many of the best classes instead of all values; 0 = all values
};

/// A parsed request. Views in it point into the body, which must outlive it.
struct InferRequest {
  std::string id;
  std::vector<SentTensor> inputs;
  std::vector<WantedOutput> outputs;  // empty = all
  bool binary_outputs = false;        // the default of WantedOutput::binary
};

/// Parses the body of a request. `json_bytes`: the length of the JSON, which binary tensors follow, by the header
/// Inference-Header-Content-Length; absent = the whole body. Checks that each tensor has as many values as its shape
/// says, except for binary BYTES, which elements_of_bytes() checks. Throws BadRequest.
InferRequest parse_infer_request(std::string_view body, std::optional<std::size_t> json_bytes);

/// The number in a header such as Inference-Header-Content-Length; absent where there is none. Throws BadRequest.
std::optional<std::size_t> parse_length(const std::string& header);

/// The elements of a tensor of BYTES: each a length of four bytes, low byte first, and so many bytes; or JSON texts,
/// which are base64. Throws BadRequest.
std::vector<std::string> elements_of_bytes(const SentTensor& tensor);

/// An output for a response.
struct ToldOutput {
  WantedOutput wanted;
  const HostTensor* values = nullptr;               // floats or int32, whose first extent counts the samples
  const std::vector<std::string>* texts = nullptr;  // told in place of the values, one for each
};

struct InferAnswer {
  std::string body;
  std::optional<std::size_t> json_bytes;  // length of the JSON for the header, where binary tensors follow; absent: all
                                          // is JSON
};

/// `classes`: their names, where known. NaN and infinite numbers, which JSON can't hold, become null.
InferAnswer write_infer_answer(const std::string& model, const std::string& id, const std::vector<ToldOutput>& outputs,
                               const std::vector<std::string>& classes);

struct ServedOutput {
  std::string name;
  std::vector<std::int64_t> shape;  // of one sample; -1 = as the answer has it
  const char* datatype = "FP32";
  bool is_usual = true;  // told where a request names none
};

/// A server's description of its network.
struct ServedModel {
  std::string name;      // in addresses
  std::string platform;  // "evener_openvino"
  std::string input = "input";
  std::vector<std::int64_t> shape;                   // of one sample
  bool is_bytes = true;                              // it takes UINT8, otherwise FP32
  std::optional<data::Preprocessing> pictures = {};  // how picture files become samples; absent = it takes no pictures
  std::vector<ServedOutput> outputs;                 // the one that tells classes first, or boxes
  std::vector<std::string> classes = {};             // names; empty = not known
  bool tells_unknown = false;                        // it has the output inference::kUnknownOutput
  std::string no_classes = {};                       // why its outputs are no classes; "" = they are
  std::shared_ptr<const detection::Detector> detector =
      {};  // reads box_outputs() from its own outputs; null: it is none

  const char* datatype() const { return is_bytes ? "UINT8" : "FP32"; }
  std::size_t sample_bytes() const {
    return static_cast<std::size_t>(element_count(shape)) * (is_bytes ? 1 : sizeof(float));
  }
};

/// A sample, and the size of the image that it was made of.
struct SentSample : inference::SampleValues {
  detection::PhotoSize size;  // 0 x 0 of a vector
};

/// The samples of a request, from tensors or picture files. Throws BadRequest where the model doesn't take them.
std::vector<SentSample> samples_of(const InferRequest& request, const ServedModel& model);

/// The sample of a picture's file, given by its bytes. Throws BadRequest where it can't be decoded.
SentSample sample_of_picture(const std::string& file, const ServedModel& model);

/// The sample of a raw request, whose body has no JSON (Inference-Header-Content-Length: 0): the bytes of its values,
/// or a picture's file. Throws BadRequest.
SentSample sample_of_raw(const std::string& body, const ServedModel& model);

/// The outputs that the request names, or the usual ones where it names none. Throws BadRequest for unknown names.
std::vector<WantedOutput> wanted_outputs(const InferRequest& request, const ServedModel& model);

}  // namespace evener::serving
