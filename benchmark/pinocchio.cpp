// Copyright 2026 robot_dynamics maintainers
// SPDX-License-Identifier: Apache-2.0
// Pinocchio's C++ API behind a C interface: loops over given states, timed inside, one call per measurement.
// The algorithms are the instantiations in the pin wheel's libpinocchio_default (an optimised build), reached by
// PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION and by arguments that are Eigen::Ref: instantiated here, with -O3, they
// are not faster, but take the compiler minutes and gigabytes.
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace pinocchio;
using Vector = Eigen::Ref<const Eigen::VectorXd>;
using Vectors = std::vector<Vector>;

static Vectors rows(const double* values, int count, int size) {
  Vectors out;
  out.reserve(count);
  for (int i = 0; i < count; ++i) out.emplace_back(Eigen::Map<const Eigen::VectorXd>(values + i * size, size));
  return out;
}

template <class Call>
static double seconds_per_call(int count, int repeats, Call call) {
  const auto start = std::chrono::steady_clock::now();
  for (int r = 0; r < repeats; ++r)
    for (int i = 0; i < count; ++i) call(i);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / (double(count) * repeats);
}

template <class Matrix>
static void read(std::istream& in, Matrix& values) {
  for (int i = 0; i < values.rows(); ++i)
    for (int j = 0; j < values.cols(); ++j) in >> values(i, j);
}

static bool joint_of(const std::string& type, const Eigen::Vector3d& axis, JointModel& out) {
  if (type == "JointModelFreeFlyer") out = JointModelFreeFlyer();
  else if (type == "JointModelRX") out = JointModelRX();
  else if (type == "JointModelRY") out = JointModelRY();
  else if (type == "JointModelRZ") out = JointModelRZ();
  else if (type == "JointModelPX") out = JointModelPX();
  else if (type == "JointModelPY") out = JointModelPY();
  else if (type == "JointModelPZ") out = JointModelPZ();
  else if (type == "JointModelRevoluteUnaligned") out = JointModelRevoluteUnaligned(axis);
  else if (type == "JointModelPrismaticUnaligned") out = JointModelPrismaticUnaligned(axis);
  else return false;
  return true;
}

// One line per joint: type, parent, axis, placement R p, mass, centre of mass, inertia about it; then one per contact
// point: "point", joint, position.
static Model model_of(std::istream& in, std::vector<FrameIndex>& points) {
  Model model;
  std::string type;
  while (in >> type) {
    int parent;
    double mass;
    Eigen::Vector3d axis, p, com;
    Eigen::Matrix3d R, I;
    const std::string name = type + std::to_string(model.njoints + model.nframes);
    in >> parent;
    if (type == "point") {
      read(in, p);
      const SE3 at(Eigen::Matrix3d::Identity(), p);
      points.push_back(model.addFrame(Frame(name, parent, 0, at, OP_FRAME)));
      continue;
    }
    read(in, axis), read(in, R), read(in, p), in >> mass, read(in, com), read(in, I);
    JointModel joint;
    if (!joint_of(type, axis, joint)) throw std::invalid_argument(type);
    const JointIndex id = model.addJoint(parent, joint, SE3(R, p), name);
    model.appendBodyToJoint(id, Inertia(mass, com, I), SE3::Identity());
  }
  return model;
}

struct Robot {
  std::vector<FrameIndex> points;
  Model model;
  Data data;
  Data::Matrix6x J;
  Eigen::MatrixXd rows, response, inertia;

  explicit Robot(std::istream& in)
      : model(model_of(in, points)),
        data(model),
        J(Data::Matrix6x::Zero(6, model.nv)),
        rows(Eigen::MatrixXd::Zero(3 * points.size(), model.nv)),
        response(model.nv, rows.rows()),
        inertia(rows.rows(), rows.rows()) {}
};

// What contact dynamics needs: M^-1 J^T and J M^-1 J^T of all points, from M^-1 and the Jacobians.
static void contact_terms(Robot& r, const Vector& q) {
  computeMinverse(r.model, r.data, q);
  computeJointJacobians(r.model, r.data, q);
  updateFramePlacements(r.model, r.data);
  for (std::size_t k = 0; k < r.points.size(); ++k) {
    r.J.setZero();
    getFrameJacobian(r.model, r.data, r.points[k], LOCAL_WORLD_ALIGNED, r.J);
    r.rows.middleRows<3>(3 * k) = r.J.topRows<3>();
  }
  r.response.noalias() = r.data.Minv.selfadjointView<Eigen::Upper>() * r.rows.transpose();
  r.inertia.noalias() = r.rows * r.response;
}

extern "C" {

// Null for a joint type that is not known.
Robot* robot_make(const char* text) {
  std::istringstream in(text);
  try {
    return new Robot(in);
  } catch (const std::invalid_argument&) {
    return nullptr;
  }
}

void robot_free(Robot* r) { delete r; }

// J M^-1 J^T of the last call, by columns.
void robot_contact_inertia(const Robot* r, double* out) {
  Eigen::Map<Eigen::MatrixXd>(out, r->inertia.rows(), r->inertia.cols()) = r->inertia;
}

double robot_time(Robot* r, const char* name, const double* q_, const double* v_, const double* x_, int count,
                  int repeats) {
  const Model& m = r->model;
  Data& d = r->data;
  const Vectors q = rows(q_, count, m.nq), v = rows(v_, count, m.nv), x = rows(x_, count, m.nv);
  const std::string what(name);
  if (what == "rnea") return seconds_per_call(count, repeats, [&](int i) { rnea(m, d, q[i], v[i], x[i]); });
  if (what == "aba")
    return seconds_per_call(count, repeats, [&](int i) { aba(m, d, q[i], v[i], x[i], Convention::WORLD); });
  if (what == "crba") return seconds_per_call(count, repeats, [&](int i) { crba(m, d, q[i], Convention::WORLD); });
  if (what == "rnea derivatives")
    return seconds_per_call(count, repeats, [&](int i) { computeRNEADerivatives(m, d, q[i], v[i], x[i]); });
  if (what == "aba derivatives")
    return seconds_per_call(count, repeats, [&](int i) { computeABADerivatives(m, d, q[i], v[i], x[i]); });
  if (what == "contact") return seconds_per_call(count, repeats, [&](int i) { contact_terms(*r, q[i]); });
  return -1.0;
}
}
