import { mount } from "svelte";
import App from "./App.svelte";
import { app } from "./state/app.svelte";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/prose.css";

app.start();
mount(App, { target: document.getElementById("page")! });
