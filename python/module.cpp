// evener._evener: what the package evener is made of.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace nb = nanobind;

namespace {

/// Asks Python whether a signal came. It is asked by the thread that waits, without the GIL.
class SignalObserver : public evener::Observer {
 public:
  bool wants_stop() override {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();  // such as KeyboardInterrupt, once the work has ended
    return false;
  }
};

/// Passes on what a job tells to those callbacks that there are.
class CallbackObserver : public SignalObserver {
 public:
  explicit CallbackObserver(const nb::dict& callbacks) : callbacks_(callbacks) {}

  void note(const std::string& text) override {
    call("note", [&] { return nb::cast(text); });
  }
  void progress(const std::string& text) override {
    call("progress", [&] { return nb::cast(text); });
  }
  void answers(const std::string& lines) override {
    call("answers", [&] { return nb::cast(lines); });
  }
  void step(const evener::StepEvent& event) override {
    call("step", [&] {
      nb::dict told;
      told["epoch"] = event.epoch;
      told["step"] = event.step;
      told["steps_per_epoch"] = event.steps_per_epoch;
      told["images_per_s"] = event.images_per_s;
      told["loss"] = event.loss;
      return told;
    });
  }
  void epoch(const evener::EpochEvent& event) override {
    call("epoch", [&] {
      const auto or_none = [](const std::optional<double>& value) { return value ? nb::cast(*value) : nb::none(); };
      nb::dict told;
      told["epoch"] = event.epoch;
      told["seconds"] = event.seconds;
      told["learning_rate"] = event.learning_rate;
      told["train_loss"] = event.train_loss;
      told["train_accuracy"] = or_none(event.train_accuracy);
      told["val_loss"] = or_none(event.val_loss);
      told["val_accuracy"] = or_none(event.val_accuracy);
      for (const auto& [name, value] : event.figures) told[name.c_str()] = value;
      told["best"] = event.best;
      return told;
    });
  }

 private:
  /// `argument` is made with the GIL held, and only where somebody listens.
  template <class Argument>
  void call(const char* name, const Argument& argument) {
    const nb::gil_scoped_acquire gil;
    if (callbacks_.contains(name)) callbacks_[name](argument());
  }

  const nb::dict& callbacks_;  // of the caller, who waits
};

using Job = evener::Result (*)(const evener::Options&, evener::Observer*, const evener::StopFlag*);

/// (status, reason, folder, record as JSON, summary)
nb::tuple run_job(Job job, const nb::dict& keywords, const nb::dict& callbacks) {
  const evener::Options options = options_from(keywords);
  CallbackObserver observer(callbacks);
  evener::Result result;
  {
    const nb::gil_scoped_release without_gil;
    result = job(options, &observer, nullptr);
  }
  return nb::make_tuple(evener::status_name(result.status), result.reason, result.folder.string(), result.record,
                        result.summary);
}

/// A NumPy array that owns the values.
nb::object array_of(evener::FloatArray&& output) {
  auto values = std::make_unique<std::vector<float>>(std::move(output.values));
  const std::vector<std::size_t> shape(output.shape.begin(), output.shape.end());
  float* const data = values->data();
  const nb::capsule owner(values.release(), [](void* held) noexcept { delete static_cast<std::vector<float>*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, float>(data, shape.size(), shape.data(), owner));
}

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::vector<std::int64_t> shape_of(const Array& array) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  return shape;
}

/// As Python has it: "(2, 3)", "(2,)", "()".
std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

/// Of an object that no network takes.
nb::builtin_exception not_taken(const nb::object& object) {
  std::string given = nb::cast<std::string>(nb::handle(object.type()).attr("__name__"));
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  if (!dtype.is_none()) given += " of dtype " + nb::cast<std::string>(nb::str(dtype));
  return nb::type_error(("a network takes arrays of uint8 or float32 in this machine's memory and its order of bytes, "
                         "not a " +
                         given + "; numpy.asarray(..., numpy.float32) makes one")
                            .c_str());
}

/// What NumPy or DLPack shows of an object; a copy if its values are not dense. Throws TypeError where it shows
/// nothing.
Array array_in(const nb::object& object) {
  Array array;
  if (!nb::try_cast(object, array)) throw not_taken(object);
  return array;
}

/// (N, H, W, C), or one of them (H, W, C), or one grey one (H, W).
evener::PictureSpan pictures_in(const Array& array) {
  std::vector<std::int64_t> shape = shape_of(array);
  const std::string given = shape_text(shape);
  if (shape.size() == 2) shape.push_back(1);
  if (shape.size() == 3) shape.insert(shape.begin(), 1);
  if (shape.size() != 4 || (shape[3] != 1 && shape[3] != 3)) {
    throw nb::value_error(
        ("pictures are (N, height, width, channels), or one of them, with 1 channel (grey) or 3 (RGB), not " + given +
         "; for values in the network's own shape say as_they_are=True")
            .c_str());
  }
  return {static_cast<const std::uint8_t*>(array.data()), shape[0], shape[1], shape[2], shape[3]};
}

/// In the network's own shape, with or without a count before it.
evener::SampleSpan samples_in(const Array& array, std::size_t dimensions_of_one) {
  evener::SampleSpan samples;
  samples.shape = shape_of(array);
  if (samples.shape.size() == dimensions_of_one) samples.shape.insert(samples.shape.begin(), 1);
  if (array.dtype() == nb::dtype<float>()) {
    samples.floats = static_cast<const float*>(array.data());
  } else {
    samples.bytes = static_cast<const std::uint8_t*>(array.data());
  }
  return samples;
}

nb::dict run_network(evener::LoadedNetwork& network, const nb::object& object, bool as_they_are) {
  const Array array = array_in(object);
  const bool is_bytes = array.dtype() == nb::dtype<std::uint8_t>();
  if (!is_bytes && array.dtype() != nb::dtype<float>()) {
    throw not_taken(object);
  }
  SignalObserver observer;
  evener::Outputs outputs;
  if (is_bytes && !as_they_are) {
    const evener::PictureSpan pictures = pictures_in(array);
    const nb::gil_scoped_release without_gil;
    outputs = network.run(pictures, &observer);
  } else {
    const evener::SampleSpan samples = samples_in(array, network.input_shape().size());
    const nb::gil_scoped_release without_gil;
    outputs = network.run(samples, &observer);
  }
  nb::dict arrays;
  for (auto& [name, output] : outputs) arrays[name.c_str()] = array_of(std::move(output));
  return arrays;
}

void make_network(evener::LoadedNetwork* place, const std::string& model, const nb::dict& keywords) {
  const evener::Options options = options_from(keywords);
  const nb::gil_scoped_release without_gil;
  new (place) evener::LoadedNetwork(model, options);
}

}  // namespace

NB_MODULE(_evener, module) {
  auto error = nb::exception<evener::Error>(module, "Error", PyExc_RuntimeError);
  nb::exception<evener::UsageError>(module, "UsageError", error.ptr());
  nb::exception<evener::Interrupted>(module, "Interrupted", error.ptr());

  module.def("version", &evener::version);
  module.def("options_of", &options_of, nb::arg("job"));
  const auto add_job = [&](const char* name, Job job) {
    module.def(name,
               [job](const nb::dict& options, const nb::dict& callbacks) { return run_job(job, options, callbacks); });
  };
  add_job("train", evener::train);
  add_job("infer", evener::infer);
  add_job("faces", evener::find_faces);
  add_job("detect", evener::detect);
  add_job("quantize", evener::quantize);
  add_job("sweep", evener::sweep);

  nb::class_<evener::LoadedNetwork>(module, "LoadedNetwork")
      .def("__init__", &make_network)
      .def_prop_ro("name", &evener::LoadedNetwork::name)
      .def_prop_ro("input_shape", &evener::LoadedNetwork::input_shape)
      .def_prop_ro("takes_images", &evener::LoadedNetwork::takes_images)
      .def_prop_ro("classes", &evener::LoadedNetwork::classes)
      .def_prop_ro("main_output", &evener::LoadedNetwork::main_output)
      .def_prop_ro("notes", &evener::LoadedNetwork::notes)
      .def("run", &run_network, nb::arg("array").none(), nb::arg("as_they_are"));
}
