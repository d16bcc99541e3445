// Requests. A problem body becomes an Error whose message says what to do.

let token = sessionStorage.getItem("tamis-token") ?? "";
let askForToken = () => {};

export const onUnauthorised = (ask) => { askForToken = ask; };
export const setToken = (value) => { token = value; sessionStorage.setItem("tamis-token", value); };

async function request(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Is it still running?");
  }
  if (response.ok) return response.json();
  if (response.status === 401) askForToken();
  let detail = `The server answered ${response.status}.`;
  try {
    detail = (await response.json()).detail ?? detail;
  } catch { /* not JSON: the status must do */ }
  const error = new Error(detail.charAt(0).toUpperCase() + detail.slice(1));
  error.status = response.status;
  throw error;
}

export function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== undefined && v !== null));
  return request(query.size ? `${path}?${query}` : path);
}

export const post = (path, body, signal) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
